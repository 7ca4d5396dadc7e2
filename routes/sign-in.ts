import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import { signToken } from "../db/world-management.js";
import { profileOf, traitsOf } from "../plugins/auth/claims.js";
import { seal, unseal } from "../plugins/auth/sealed.js";
import { networkOf } from "../plugins/limits/guests.js";
import { limitRate, Tally } from "../plugins/limits/request-rate.js";
import { ProviderClients, providersOf } from "../plugins/sign-in/clients.js";
import {
  begin,
  destinationOf,
  finish,
  SIGN_IN_TIMEOUT_MS,
  type SignIn,
  SignInError,
  type SignInProblem,
  userIdOf,
  withToken,
} from "../plugins/sign-in/flow.js";
import type { SignInProvider } from "../schemas/issuers.js";
import type { World } from "../schemas/worlds.js";

/** The name of the sign-in cookie. The cookie's path names the world and the provider. */
const COOKIE = "foyer-sign-in";
const COOKIE_SEAL = "sign-in cookie 1";

/** Default time for which a person stays signed in, in hours. */
const SESSION_HOURS = 12;

interface Params {
  world: string;
  provider: string;
}
type Request = FastifyRequest<{
  Params: Params;
  Querystring: Record<string, string | string[] | undefined>;
}>;

const config = { requires: "public" } as const;

/** Maximum number of callbacks per minute from one network. A whole hall may share an address. */
const CALLBACKS_PER_MINUTE = 300;

/** Signs people in with an OpenID Connect provider: `/w/…/sign-in/…/`. */
const routes: FastifyPluginAsync = async (app) => {
  const clients = new ProviderClients(app.outbound, (line) => app.log.warn(line));

  // Counts the states used in this process. Other processes do not know these states, but the
  // provider accepts each code only once.
  const used = new Tally();
  // Each callback makes a request to the provider, which may block a client that fails too often.
  const limitCallbacks = limitRate({
    perMinute: CALLBACKS_PER_MINUTE,
    what: "sign-ins",
    keyOf: (request) => {
      const address = app.guests.addressOf(request.raw);
      return networkOf(address) ?? address;
    },
  });

  app.get("/w/:world/sign-in/:provider/", { config }, async (request, reply) => {
    const found = await providerOf(request as Request);
    if (!found) return reply.callNotFound();
    const { world, provider } = found;
    const { base, query, host } = request as Request;
    const at = await app.store.worlds.at(host.toLowerCase());
    const isHere = at?.value.id === world.id;
    const place = { base, world: world.id, isHere };
    const to = destinationOf(query.to, place);
    private_(reply);
    try {
      const { address, secrets } = await begin(
        clients,
        provider,
        callbackOf(base, world, provider),
      );
      const flow = { ...secrets, to, ends: Date.now() + SIGN_IN_TIMEOUT_MS };
      const sealed = seal(world, COOKIE_SEAL, [provider.id], flow);
      setCookie(reply, found, sealed, SIGN_IN_TIMEOUT_MS / 1000);
      return await reply.redirect(address.href, 303);
    } catch (error) {
      return failed(reply, world, error);
    }
  });

  app.get(
    "/w/:world/sign-in/:provider/callback",
    { config, onRequest: limitCallbacks },
    async (request, reply) => {
      const found = await providerOf(request as Request);
      if (!found) return reply.callNotFound();
      const { world, provider } = found;
      const { base, query, url } = request as Request;
      private_(reply);
      // Clears the cookie. A copied cookie is refused below.
      setCookie(reply, found, "", 0);
      try {
        const sealed = cookieIn(request.headers.cookie);
        const signIn = sealed && unseal<SignIn>(world, COOKIE_SEAL, [provider.id], sealed);
        // This check precedes all requests to the provider.
        if (!signIn || query.state !== signIn.state) {
          throw new SignInError("expired", "The cookie does not fit.");
        }
        if (used.count(`${world.id} ${signIn.state}`, SIGN_IN_TIMEOUT_MS).count > 1)
          throw new SignInError("expired", "It was used before.");
        const answer = url.slice(url.indexOf("?"));
        const claims = await finish(clients, provider, answer, signIn);
        const hours = provider.session_hours ?? SESSION_HOURS;
        const profile = await profileOf(claims, world.id, app.store.files);
        const token = await signToken(world, {
          uid: userIdOf(claims, provider),
          traits: [...traitsOf(claims, provider.traits)],
          ...(profile && { profile }),
          expiresIn: `${Math.ceil(hours * 3600)}s`,
        });
        const page = withToken(signIn.to, token);
        return await reply.redirect(base + page, 303);
      } catch (error) {
        return failed(reply, world, error);
      }
    },
  );

  /** Redirects to the welcome page, which shows the reason and lets the person decide what to do. */
  function failed(reply: FastifyReply, world: World, error: unknown) {
    let code: SignInProblem = "failed";
    if (error instanceof SignInError) code = error.code;
    else app.log.error(error);
    if (code === "failed" && error instanceof SignInError) {
      app.log.warn(`A sign-in to the world ${world.id} failed: ${error.message}`);
    }
    const { base } = reply.request;
    return reply.redirect(`${base}/w/${world.id}/?sign-in=${code}`, 303);
  }
};

/** Hides the token and the provider's response from caches and other sites. */
function private_(reply: FastifyReply): void {
  reply.headers({ "cache-control": "no-store", "referrer-policy": "no-referrer" });
}

interface Found {
  world: World;
  provider: SignInProvider;
}

/** Finds the world and the provider in a request's path. */
async function providerOf({ params, server }: Request): Promise<Found | undefined> {
  const world = await server.store.worlds.get(params.world);
  const provider = world && providersOf(world.value).find(({ id }) => id === params.provider);
  return provider && { world: world.value, provider };
}

const pathOf = ({ id }: World, provider: SignInProvider) => `/w/${id}/sign-in/${provider.id}/`;

/** Returns the redirect URI, which the organizer registers with the provider. */
const callbackOf = (base: string, world: World, provider: SignInProvider) =>
  `${base}${pathOf(world, provider)}callback`;

function setCookie(
  reply: FastifyReply,
  { world, provider }: Found,
  value: string,
  seconds: number,
): void {
  const { protocol, pathname } = new URL(reply.request.base);
  const path = pathname.replace(/\/$/, "") + pathOf(world, provider);
  const secure = protocol === "https:" ? "; Secure" : "";
  reply.header(
    "set-cookie",
    `${COOKIE}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`,
  );
}

const cookieIn = (header = ""): string | undefined =>
  new RegExp(`(?:^|; ?)${COOKIE}=([\\w-]*)`).exec(header)?.[1];

export default routes;
