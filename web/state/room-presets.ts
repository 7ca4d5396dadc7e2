import type { RoomDraft } from "../../client/index.js";

/** The kinds of rooms that a new one can be. */
export const presets = {
  stage: [
    { type: "livestream.native", config: { hls_url: "" } },
    { type: "chat.native", config: { volatile: true } },
    { type: "question", config: { active: true, requires_moderation: true } },
    { type: "poll", config: { active: true } },
  ],
  chat: [{ type: "chat.native", config: { volatile: false } }],
  page: [{ type: "page.markdown", config: { content: "" } }],
  video: [
    { type: "livestream.youtube", config: { ytid: "" } },
    { type: "chat.native", config: { volatile: true } },
  ],
  website: [{ type: "page.iframe", config: { url: "" } }],
  empty: [],
} as const satisfies Record<string, readonly { type: string; config: Record<string, unknown> }[]>;

export type Preset = keyof typeof presets;

/**
 * A new room.
 * @param priority its place in the order of the rooms.
 */
export const draftOf = (name: string, preset: Preset, priority: number): RoomDraft => ({
  name,
  module_config: structuredClone([...presets[preset]]),
  sorting_priority: priority,
});
