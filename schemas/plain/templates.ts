// The initial rooms of each kind of event, and the templates of a single room, shared by the
// server's API, the pages and the commands.

/** The kinds of events. */
export const templates = ["conference", "webinar", "meetup", "workshop"] as const;
export type Template = (typeof templates)[number];

/** The templates of a single room. */
export const roomTemplates = ["stage", "talk", "call", "hallway", "page"] as const;
export type RoomTemplate = (typeof roomTemplates)[number];

/** A room in a template. */
export interface TemplateRoom {
  name: string;
  description: string;
  module_config: { type: string; config: Record<string, unknown> }[];
}

const module = (type: string, config: Record<string, unknown> = {}) => ({ type, config });
const stream = module("livestream.native", { hls_url: "" });
const chat = module("chat.native", { volatile: true });
/** A chat with lasting members, who join explicitly. */
const group = module("chat.native", { volatile: false });
const questions = module("question", { active: true, requires_moderation: true });
const polls = module("poll", { active: true });

const modules: Record<RoomTemplate, TemplateRoom["module_config"]> = {
  stage: [stream, chat, questions, polls],
  talk: [stream, chat],
  call: [module("call.native", { mode: "call" }), group],
  hallway: [group],
  page: [module("page.markdown", { content: "" })],
};

/** Returns a new room made from a template. The caller may change the result. */
export const roomOf = (template: RoomTemplate, name: string, description = ""): TemplateRoom => ({
  name,
  description,
  module_config: structuredClone(modules[template]),
});

const stage = (name: string, description: string) => roomOf("stage", name, description);
const hallway = (name: string, description: string) => roomOf("hallway", name, description);

/** Returns a text page. */
const page = (name: string, description: string, content: string): TemplateRoom => ({
  name,
  description,
  module_config: [module("page.markdown", { content })],
});

const rooms: Record<Template, readonly TemplateRoom[]> = {
  conference: [
    page("Welcome", "Where to begin.", "# Welcome\n\nThe stages are in the list of rooms."),
    stage("Main stage", "Keynotes and talks."),
    stage("Second stage", "More talks."),
    hallway("Hallway", "Meet the others."),
    hallway("Help desk", "Ask the organizers."),
  ],
  webinar: [stage("Webinar", "The talk, with questions and polls.")],
  meetup: [stage("Stage", "The talks of the evening."), hallway("Lounge", "Meet the others.")],
  workshop: [
    stage("Workshop", "What everybody does together."),
    hallway("Group 1", "Work in a small group."),
    hallway("Group 2", "Work in a small group."),
    hallway("Group 3", "Work in a small group."),
    hallway("Help", "Ask the trainers."),
  ],
};

/** Returns a template's rooms, in order. */
export const roomsOf = (template: Template): readonly TemplateRoom[] => rooms[template];
