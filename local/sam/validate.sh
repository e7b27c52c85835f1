#!/usr/bin/env bash
# Checks template.yaml as SAM reads it, and what it becomes against CloudFormation's schemas.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
find_sam
"$SAM" validate --lint "$@"
