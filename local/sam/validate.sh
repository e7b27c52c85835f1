#!/usr/bin/env bash
# Checks our templates as SAM reads them, and what they become against CloudFormation's schemas.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
find_sam
for template in template.yaml examples/*/template.yaml; do
    "$SAM" validate --lint --template "$template" "$@"
done
