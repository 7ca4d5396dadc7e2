import { Type } from "@sinclair/typebox";
import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import { authorOf } from "../plugins/auth/guard.js";
import { missingTo, Refusal } from "../plugins/http/errors.js";
import {
  Message,
  MessageDraft,
  MessageList,
  MessageParams,
  MessagesQuery,
  WaitingMessage,
} from "../schemas/messages.js";
import { allowedProfile } from "../schemas/plain/moderation/blocked-words.js";
import { LIVE, SEE } from "../schemas/plain/permissions.js";
import { RoomParams } from "../schemas/rooms.js";
import { InvalidData } from "../schemas/validate.js";
import { ref } from "../schemas/values.js";
import { endpoint, perform, performAsJson } from "./endpoint.js";

const MESSAGES = "/api/v1/worlds/:world_id/rooms/:room_id/messages/";
const MESSAGE = `${MESSAGES}:event_id/`;

/** A room's chat, through the commands `chat.fetch` and `chat.send`. */
const routes: FastifyPluginAsync = async (app) => {
  const SEND = [...LIVE, ...SEE, "chat.send"] as const;
  app.get(MESSAGES, { config: { requires: [...LIVE, ...SEE, "chat.read"] }, ...listMessages });
  app.post(MESSAGES, { config: { requires: SEND }, ...sendMessage });
  app.delete(MESSAGE, { config: { requires: SEND }, ...deleteMessage });
};

const listMessages = endpoint(
  {
    operationId: "listMessages",
    summary: "Get a page of a room's chat",
    description:
      "With `after`, returns the oldest events after it; with `before`, the newest events before it; otherwise, the newest events. `after` and `before` cannot be combined.",
    tags: ["chat"],
    params: RoomParams,
    querystring: MessagesQuery,
    response: { 200: ref(MessageList) },
  },
  async (request, reply) => {
    const { after, before, limit = 100 } = request.query;
    if (after !== undefined && before !== undefined) {
      throw new InvalidData({ before: ["May not be used with after."] });
    }
    const position =
      after === undefined ? { before_id: before ?? Number.MAX_SAFE_INTEGER } : { after_id: after };
    return reply.sendJson(
      await performAsJson(request, "chat.fetch", {
        channel: request.params.room_id,
        count: limit,
        ...position,
      }),
    );
  },
);

const sendMessage = endpoint(
  {
    operationId: "sendMessage",
    summary: "Send a message to the chat of a room",
    description:
      "The sender is the user with the token's `uid`, who is created if necessary and need not have joined the chat. All rules of `chat.send` apply. A 202 means that the message waits for a moderator.",
    tags: ["chat"],
    params: RoomParams,
    body: ref(MessageDraft),
    response: { 201: ref(Message), 202: ref(WaitingMessage) },
  },
  async (request, reply) => {
    const { base } = request;
    const { event, held } = await send(request, request.body);
    if (!event) return reply.code(202).sendJson(JSON.stringify(held));
    const { world_id, room_id } = request.params;
    const path = MESSAGES.replace(":world_id", world_id).replace(":room_id", room_id);
    reply.code(201).header("location", `${base}${path}${event.event_id}/`);
    return reply.sendJson(JSON.stringify(event));
  },
);

const deleteMessage = endpoint(
  {
    operationId: "deleteMessage",
    summary: "Delete a message from the chat of a room",
    description:
      "Deleting other users' messages requires `chat.moderate`. A request body is ignored, but must be JSON.",
    tags: ["chat"],
    params: MessageParams,
    response: { 204: Type.Null({ description: "It is deleted." }) },
  },
  async (request, reply) => {
    const { event_id } = request.params;
    if (!/^[1-9]\d{0,15}$/.test(event_id)) {
      throw missingTo(request, "message");
    }
    const content = { type: "deleted" };
    await send(request, { content, replaces: Number(event_id) });
    return reply.code(204).send(null);
  },
);

/**
 * Sends, edits or deletes a message as the token's user.
 * @throws {Refusal} 403 if the token has no `uid`.
 */
async function send(
  request: FastifyRequest<{ Params: { world_id: string; room_id: string } }>,
  { event_type = "channel.message", ...message }: MessageDraft,
) {
  const { server, caller, room, params } = request;
  const { tokenId, traits, profile, pretalxId } = caller;
  const { config } = request.world!.value;
  const hasChat = room.value.module_config.some(({ type }) => type === "chat.native");
  if (!hasChat) throw missingTo(request, "chat");
  if (!tokenId) {
    throw new Refusal(403, "This requires a token with a uid.");
  }
  request.callerId ??= (
    await server.store.users.enter(
      params.world_id,
      { tokenId, traits, profile: allowedProfile(config, profile), pretalxId },
      authorOf(request),
    )
  ).id;
  const payload = { channel: params.room_id, event_type, ...message };
  return perform(request, "chat.send", payload);
}

export default routes;
