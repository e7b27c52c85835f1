// Enqueue a job from Node, signed with AWS credentials:
//
//     npm ci
//     JOB_RETRY_URL=https://….execute-api.eu-central-1.amazonaws.com AWS_REGION=eu-central-1 \
//       node enqueue.mjs send_welcome_email '{"user_id": 42}'

import { randomUUID } from "node:crypto";

import { Sha256 } from "@aws-crypto/sha256-js";
import { fromNodeProviderChain } from "@aws-sdk/credential-providers";
import { HttpRequest } from "@smithy/protocol-http";
import { SignatureV4 } from "@smithy/signature-v4";

const url = new URL(`${process.env.JOB_RETRY_URL}/jobs`);
const signer = new SignatureV4({
  service: "execute-api",
  region: process.env.AWS_REGION,
  credentials: fromNodeProviderChain(),
  sha256: Sha256,
});

export async function enqueue(job) {
  const key = randomUUID(); // the same at each try: a job whose answer was lost is not added twice
  for (let attempt = 1; ; attempt += 1) {
    const request = await signer.sign(
      new HttpRequest({
        method: "POST",
        protocol: url.protocol,
        hostname: url.hostname,
        port: url.port ? Number(url.port) : undefined,
        path: url.pathname,
        headers: { host: url.host, "content-type": "application/json", "idempotency-key": key },
        body: JSON.stringify(job),
      }),
    );
    const answer = await fetch(url, request).catch((error) => error);
    if (answer instanceof Response && answer.status < 500 && answer.status !== 429) {
      if (!answer.ok) throw new Error(JSON.stringify(await answer.json()));
      return answer.json();
    }
    if (attempt === 5) throw answer instanceof Error ? answer : new Error(`HTTP ${answer.status}`);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 200 * 2 ** attempt));
  }
}

const [jobType, payload] = process.argv.slice(2);
console.log(JSON.stringify(await enqueue({ job_type: jobType, payload: JSON.parse(payload) })));
