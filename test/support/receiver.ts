import { createDecipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";
import type { Json } from "../../conformance/client.js";

export interface Got {
  headers: IncomingHttpHeaders;
  body: Json;
  text: string;
}

type Answer = number | "silence" | "flood";

/** Starts a receiver of webhooks. @param answers statuses or misbehaviors; the last one repeats. */
export async function receiver(t: Test, ...answers: Answer[]) {
  const got: Got[] = [];
  let flooded = 0;
  const server: Server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const body = JSON.parse(text);
      got.push({ headers: request.headers, text, body });
      const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
      if (answer === "silence") return;
      if (answer !== "flood") {
        response.writeHead(answer, { location: "http://127.0.0.1:1/" }).end();
        return;
      }
      response.writeHead(200);
      const piece = Buffer.alloc(64 * 1024);
      const more = () => {
        while (!response.destroyed && flooded < 2 ** 30) {
          flooded += piece.length;
          if (!response.write(piece)) return void response.once("drain", more);
        }
        response.end();
      };
      more();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/hook`;
  return { got, url, flooded: () => flooded };
}

interface Lifetime {
  teardown(work: () => unknown): void;
}

/** Simulates a browser's part in web push (RFC 8291). */
export function browserKeys() {
  const curve = createECDH("prime256v1");
  curve.generateKeys();
  const auth = randomBytes(16);
  const own = curve.getPublicKey();
  return {
    keys: { p256dh: own.toString("base64url"), auth: auth.toString("base64url") },
    read(message: Buffer): Record<string, string> {
      const salt = message.subarray(0, 16);
      const size = message[20]!;
      const sender = message.subarray(21, 21 + size);
      const derive = (secret: Buffer, from: Buffer, info: Buffer, length: number) =>
        Buffer.from(hkdfSync("sha256", secret, from, info, length));
      const info = Buffer.concat([Buffer.from("WebPush: info\0"), own, sender]);
      const secret = derive(curve.computeSecret(sender), auth, info, 32);
      const use = (name: string, length: number) =>
        derive(secret, salt, Buffer.from(`Content-Encoding: ${name}\0`), length);
      const body = message.subarray(21 + size);
      const cipher = createDecipheriv("aes-128-gcm", use("aes128gcm", 16), use("nonce", 12));
      cipher.setAuthTag(body.subarray(-16));
      const text = Buffer.concat([cipher.update(body.subarray(0, -16)), cipher.final()]);
      const plain = text.subarray(0, text.lastIndexOf(2)).toString();
      return JSON.parse(plain) as Record<string, string>;
    },
  };
}

/** Starts a push service that records what it receives. */
export async function pushService(t: Lifetime) {
  const got: { path: string; authorization: string; body: Buffer }[] = [];
  const statuses = new Map<string, number>();
  const waiting: (() => void)[] = [];
  let isHolding = false;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { url: path = "", headers } = request;
      const { authorization = "" } = headers;
      got.push({ path, authorization, body: Buffer.concat(chunks) });
      const answer = () => void response.writeHead(statuses.get(path) ?? 201).end();
      if (isHolding) waiting.push(answer);
      else answer();
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  /** Holds all answers, or releases them. */
  const hold = (on: boolean) => {
    isHolding = on;
    for (const answer of waiting.splice(0)) answer();
  };
  return { got, statuses, hold, base: `http://127.0.0.1:${port}` };
}
