import { randomUUID } from "node:crypto";
import type { FastifyPluginAsync } from "fastify";
import { tokenCreated } from "../db/rules/acts.js";
import { signToken } from "../db/world-management.js";
import { authorOf } from "../plugins/auth/guard.js";
import { type LinkedPage, linkTo } from "../schemas/plain/links.js";
import { Token, TokenDraft } from "../schemas/tokens.js";
import { ref } from "../schemas/values.js";
import { WorldParams } from "../schemas/worlds.js";
import { endpoint } from "./endpoint.js";

/** Creates tokens for hosts. Tokens are not stored. */
const routes: FastifyPluginAsync = async (app) => {
  app.post("/api/v1/worlds/:world_id/tokens/", {
    config: { requires: ["world.secrets"] },
    ...createToken,
  });
};

const createToken = endpoint(
  {
    operationId: "createToken",
    summary: "Sign a token, and create a link with it",
    description:
      "Callers who may read the world's keys may sign any traits. The audit records the traits, but never the token.",
    tags: ["worlds"],
    params: WorldParams,
    body: ref(TokenDraft),
    response: { 200: ref(Token) },
  },
  async (request) => {
    const { uid, name, traits, expires_in, page = "event" } = request.body;
    const { base, params } = request;
    const token = await signToken(request.world!.value, {
      // Only a token with a uid can log anyone in.
      uid: uid ?? ((page ?? name ?? null) === null ? undefined : randomUUID()),
      ...(name !== undefined && { profile: { display_name: name } }),
      traits,
      expiresIn: typeof expires_in === "number" ? `${expires_in}s` : expires_in,
    });
    await request.server.store.audit.record(
      params.world_id,
      tokenCreated(traits),
      authorOf(request),
    );
    const address = { address: base, world: params.world_id, token };
    const url = page === null ? null : linkTo(page as LinkedPage, address);
    return { token, url };
  },
);

export default routes;
