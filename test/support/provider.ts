import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import Provider from "oidc-provider";
import type { ClientMetadata } from "oidc-provider";
import type { Test } from "tap";

/** Starts a certified OpenID Connect provider on this machine, with one client. */
export async function startProvider(
  t: Pick<Test, "teardown">,
  redirectUris: string[],
  client: Partial<ClientMetadata> = {},
) {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const state = {
    issuer,
    port,
    /** Number of requests, by path. */
    asked: {} as Record<string, number>,
    /** Fake JSON answers, by path. */
    lies: {} as Record<string, object>,
    /** The account that is signed in automatically; undefined to show the login page. */
    account: "ada" as string | undefined,
    claims: {} as Record<string, unknown>,
  };
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "foyer",
        client_secret: "a-secret-of-the-client",
        redirect_uris: redirectUris,
        ...client,
      },
    ],
    cookies: { keys: ["only for tests"] },
    claims: {
      profile: ["name", "preferred_username", "picture"],
      groups: ["groups"],
      roles: ["realm_access"],
    },
    scopes: ["openid", "profile", "groups", "roles"],
    findAccount: (_context, accountId) => ({
      accountId,
      claims: () => ({ sub: accountId, ...state.claims }),
    }),
    features: { devInteractions: { enabled: true } },
  });
  provider.on("server_error", (_context, error) => console.error(error));
  const answer = provider.callback();
  server.on("request", (request, response) => {
    const path = new URL(request.url!, issuer).pathname;
    state.asked[path] = (state.asked[path] ?? 0) + 1;
    const lie = state.lies[path];
    if (lie) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(lie));
    } else if (path.startsWith("/interaction/") && state.account) {
      void finish(request).then(
        (to) => response.writeHead(303, { location: to }).end(),
        (error: unknown) => {
          console.error(error);
          response.writeHead(500).end();
        },
      );
      return;
    } else void answer(request, response);

    /** Signs the account in, and grants its consent. */
    async function finish(request: IncomingMessage): Promise<string> {
      const { params, prompt, session } = await provider.interactionDetails(request, response);
      const accountId = session?.accountId ?? state.account!;
      if (prompt.name === "login") {
        return provider.interactionResult(request, response, { login: { accountId } });
      }
      const clientId = params.client_id as string;
      const grant = new provider.Grant({ accountId, clientId });
      grant.addOIDCScope(params.scope as string);
      return provider.interactionResult(request, response, {
        consent: { grantId: await grant.save() },
      });
    }
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return state;
}

/** Follows redirects with cookies like a browser, but loads no pages. */
export class Browser {
  readonly #jar = new Map<string, Map<string, string>>();

  /** Requests one address. The caller may override the cookies. */
  async get(address: string, cookie = this.cookies(address)) {
    const response = await fetch(address, {
      redirect: "manual",
      headers: { accept: "text/html", ...(cookie && { cookie }) },
    });
    const { host } = new URL(address);
    const jar = this.#jar.get(host) ?? new Map<string, string>();
    this.#jar.set(host, jar);
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const [name = "", value = ""] = pair.split("=");
      if (value === "") jar.delete(name);
      else jar.set(name, pair.slice(name.length + 1));
    }
    const location = response.headers.get("location");
    return { response, location: location === null ? undefined : new URL(location, address).href };
  }

  cookies(address: string): string {
    const jar = this.#jar.get(new URL(address).host) ?? new Map();
    return [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  /** Follows redirects until the next one matches, without requesting that one. */
  async until(address: string, stop: RegExp): Promise<string> {
    let next: string | undefined = address;
    for (let i = 0; i < 12 && next !== undefined; i++) {
      if (i > 0 && stop.test(next)) return next;
      next = (await this.get(next)).location;
    }
    return next ?? "no redirect";
  }
}

/** Creates an issuer's key, with its public half in published form. */
export async function makeKey(alg: string, kid?: string) {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const named = { alg, ...(kid !== undefined && { kid }) };
  const jwk: JWK = { ...(await exportJWK(publicKey)), ...named };
  /** Signs claims. Omits those that are undefined. */
  const sign = (claims: Record<string, unknown>, header: object = {}) => {
    const exp = Math.floor(Date.now() / 1000) + 3600;
    const payload = JSON.parse(JSON.stringify({ exp, ...claims })) as object;
    return new SignJWT({ ...payload })
      .setProtectedHeader({ ...named, ...header })
      .sign(privateKey, { crit: { x: true } });
  };
  return { jwk, publicKey, privateKey, sign };
}

/** Starts an issuer that publishes its keys on this machine. */
export async function keyServer(t: Test, keys: JWK[]) {
  const state = {
    keys,
    asked: 0,
    /** The answer to send instead of the keys. */
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
