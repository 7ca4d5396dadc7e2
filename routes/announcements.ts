import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import { announcementRecord } from "../live/rules/shapes.js";
import { missingTo } from "../plugins/http/errors.js";
import { allowSameId } from "../plugins/validation.js";
import {
  Announcement,
  AnnouncementChanges,
  AnnouncementDraft,
  AnnouncementList,
  AnnouncementParams,
} from "../schemas/announcements.js";
import { LIVE } from "../schemas/plain/permissions.js";
import { PageQuery, ref } from "../schemas/values.js";
import { WorldParams } from "../schemas/worlds.js";
import { endpoint, perform } from "./endpoint.js";
import { pageOf } from "./pages.js";

const ANNOUNCEMENTS = "/api/v1/worlds/:world_id/announcements/";
const ANNOUNCEMENT = `${ANNOUNCEMENTS}:announcement_id/`;

/** A world's announcements, through the `announcement.*` commands. */
const routes: FastifyPluginAsync = async (app) => {
  const requires = [...LIVE, "world.announce"] as const;
  app.get(ANNOUNCEMENTS, { config: { requires }, ...listAnnouncements });
  app.post(ANNOUNCEMENTS, { config: { requires, versioned: true }, ...createAnnouncement });
  app.get(ANNOUNCEMENT, { config: { requires, versioned: true }, ...getAnnouncement });
  app.patch(ANNOUNCEMENT, {
    config: { requires, versioned: true },
    ...allowSameId("announcement_id"),
    ...updateAnnouncement,
  });
};

/** Returns the announcement with this id. The record's version covers `is_visible`, which depends on the time. */
async function announcementNamed(request: FastifyRequest, id: string) {
  const all = await perform(request, "announcement.list", {});
  const found = all.find((announcement) => announcement.id === id);
  if (!found) throw missingTo(request, "announcement");
  return announcementRecord(found);
}

const listAnnouncements = endpoint(
  {
    operationId: "listAnnouncements",
    summary: "List the announcements of a world, oldest first",
    description:
      "Includes drafts and archived announcements. Attendees see announcements over the websocket.",
    tags: ["announcements"],
    params: WorldParams,
    querystring: PageQuery,
    response: { 200: ref(AnnouncementList) },
  },
  async (request) => {
    const all = await perform(request, "announcement.list", {});
    // Announcements are never deleted, so each announcement keeps its index.
    const places = new Map(all.map((announcement, i) => [announcement, i]));
    return pageOf(request, request.query, all, {
      name: "announcements",
      types: ["number"],
      placeOf: (announcement) => [places.get(announcement)!],
    });
  },
);

const createAnnouncement = endpoint(
  {
    operationId: "createAnnouncement",
    summary: "Make an announcement",
    description:
      "Creates a draft unless `state` says otherwise. Refuses a `show_until` that is not a valid date.",
    tags: ["announcements"],
    params: WorldParams,
    body: ref(AnnouncementDraft),
    response: { 201: ref(Announcement) },
  },
  async (request, reply) => {
    const { base } = request;
    const { announcement } = await perform(request, "announcement.create", request.body);
    const path = ANNOUNCEMENTS.replace(":world_id", request.params.world_id);
    reply.code(201).header("location", `${base}${path}${announcement.id}/`);
    return reply.sendVersioned(announcementRecord(announcement));
  },
);

const getAnnouncement = endpoint(
  {
    operationId: "getAnnouncement",
    summary: "Get an announcement",
    description: "Its `ETag` also changes when the announcement is no longer shown.",
    tags: ["announcements"],
    params: AnnouncementParams,
    response: { 200: ref(Announcement) },
  },
  async (request, reply) =>
    reply.sendVersioned(await announcementNamed(request, request.params.announcement_id)),
);

const updateAnnouncement = endpoint(
  {
    operationId: "updateAnnouncement",
    summary: "Replace fields of an announcement",
    description:
      "A draft may become active, and an active announcement archived, but not the other way around.",
    tags: ["announcements"],
    params: AnnouncementParams,
    body: ref(AnnouncementChanges),
    response: { 200: ref(Announcement) },
  },
  async (request, reply) => {
    const { announcement_id: id } = request.params;
    const { is_visible: _, ...changes } = request.body;
    const { announcement } = await perform(request, "announcement.update", { ...changes, id });
    return reply.sendVersioned(announcementRecord(announcement));
  },
);

export default routes;
