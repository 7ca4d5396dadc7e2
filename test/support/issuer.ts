import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import type { Test } from "tap";

/** A key of an issuer, with its public half as it publishes it. */
export async function makeKey(alg: string, kid?: string) {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const named = { alg, ...(kid !== undefined && { kid }) };
  const jwk: JWK = { ...(await exportJWK(publicKey)), ...named };
  /** Signs claims; those that are undefined are left out. */
  const sign = (claims: Record<string, unknown>, header: object = {}) => {
    const exp = Math.floor(Date.now() / 1000) + 3600;
    const payload = JSON.parse(JSON.stringify({ exp, ...claims })) as object;
    return new SignJWT({ ...payload })
      .setProtectedHeader({ ...named, ...header })
      .sign(privateKey, { crit: { x: true } });
  };
  return { jwk, publicKey, privateKey, sign };
}

/** An issuer that publishes its keys on this machine. */
export async function keyServer(t: Test, keys: JWK[]) {
  const state = {
    keys,
    asked: 0,
    /** What it answers instead of its keys. */
    answer: undefined as { status?: number; body?: string } | undefined,
    url: "",
  };
  const server = createServer((_request, answer) => {
    state.asked++;
    const { status = 200, body } = state.answer ?? {};
    answer
      .writeHead(status, { "content-type": "application/json" })
      .end(body ?? JSON.stringify({ keys: state.keys }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  state.url = `http://127.0.0.1:${port}/keys`;
  return state;
}
