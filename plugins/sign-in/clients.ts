import { LRUCache } from "lru-cache";
import type { Configuration, CustomFetch } from "openid-client";
import type { SignInProvider } from "../../schemas/issuers.js";
import type { World } from "../../schemas/worlds.js";
import type { Outbound } from "../outbound/outbound.js";

/** Limits for a request to a provider: the timeout in milliseconds, and the response size in bytes. */
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_BYTES = 1024 * 1024;

/** Time for which a provider's metadata is cached, in milliseconds. */
const METADATA_AGE_MS = 10 * 60_000;

/** Delay before a failed provider is tried again, in milliseconds. */
const RETRY_DELAY_MS = 5000;

/** Maximum number of cached providers. */
const MAX_PROVIDERS = 500;

/** Caches the client configurations of OpenID Connect providers. */
export class ProviderClients {
  readonly #fetch: CustomFetch;
  readonly #warn: (line: string) => void;
  readonly #known = new LRUCache<string, Promise<Configuration[]>>({
    max: MAX_PROVIDERS,
    ttl: METADATA_AGE_MS,
  });

  /** @param warn receives a line for each provider that cannot be used. */
  constructor(outbound: Pick<Outbound, "send">, warn: (line: string) => void) {
    this.#fetch = fetchBy(outbound);
    this.#warn = warn;
  }

  /**
   * Returns a provider's client configurations: one per authentication method, with the likeliest
   * first.
   * @throws {OutboundError} or an error from the library.
   */
  of(provider: SignInProvider): Promise<Configuration[]> {
    const key = JSON.stringify(provider);
    let known = this.#known.get(key);
    if (!known) {
      known = discover(provider, this.#fetch);
      this.#known.set(key, known);
      known.catch((error: Error) => {
        this.#warn(`The provider ${provider.issuer} cannot be used to sign in: ${error.message}`);
        this.#known.set(key, known, { ttl: RETRY_DELAY_MS });
      });
    }
    return known;
  }
}

/** Fetches a provider's metadata. The library rejects metadata that names another issuer. */
async function discover(
  { issuer, client_id, client_secret }: SignInProvider,
  fetch: CustomFetch,
): Promise<Configuration[]> {
  const client = await import("openid-client");
  // The outbound client still blocks requests without TLS unless WEBHOOK_ALLOW permits them.
  const prepare = [client.allowInsecureRequests, client.enableNonRepudiationChecks];
  const found = await client.discovery(new URL(issuer), client_id, {}, client.None(), {
    [client.customFetch]: fetch,
    execute: prepare,
  });
  const server = found.serverMetadata();
  if (!/^https?:$/.test(new URL(server.authorization_endpoint ?? "").protocol)) {
    throw new Error("Its authorization_endpoint is not a page URL.");
  }
  if (client_secret === undefined) return [found];
  const ways = [client.ClientSecretBasic(client_secret), client.ClientSecretPost(client_secret)];
  const methods = server.token_endpoint_auth_methods_supported;
  if (methods && !methods.includes("client_secret_basic")) ways.reverse();
  return ways.map((way) => {
    const config = new client.Configuration(server, client_id, {}, way);
    config[client.customFetch] = fetch;
    for (const step of prepare) step(config);
    return config;
  });
}

/** Sends the library's requests through the outbound client, which restricts their targets. */
const fetchBy =
  (outbound: Pick<Outbound, "send">): CustomFetch =>
  async (url, { method, headers, body }) => {
    // The library sends every body as `URLSearchParams`.
    const form = body instanceof URLSearchParams ? body.toString() : undefined;
    const answer = await outbound.send({
      url,
      method: method === "POST" ? "POST" : "GET",
      headers,
      ...(form !== undefined && { body: form }),
      timeout: REQUEST_TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
    const type = answer.headers["content-type"];
    const isEmpty = answer.status === 204 || answer.status === 304;
    return new Response(isEmpty ? null : new Uint8Array(answer.body), {
      status: answer.status,
      headers: { "content-type": String(type ?? "") },
    });
  };

/**
 * Returns the providers by which people sign in to a world. A config stored before `oidc` had a
 * meaning may contain any value in this field.
 */
export function providersOf({ config }: World): readonly SignInProvider[] {
  const { oidc } = config as { oidc?: unknown };
  if (!Array.isArray(oidc)) return [];
  const texts = ["id", "name", "issuer", "client_id"] as const;
  return (oidc as (SignInProvider | null)[]).filter((it): it is SignInProvider =>
    texts.every((name) => typeof it?.[name] === "string"),
  );
}
