// The rooms with which an event of each kind begins. The server's API, the page that sets up an
// event, and commands share them.

/** The kinds of events. */
export const templates = ["conference", "webinar", "meetup", "workshop"] as const;
export type Template = (typeof templates)[number];

/** A room of a template. */
export interface TemplateRoom {
  name: string;
  description: string;
  module_config: { type: string; config: Record<string, unknown> }[];
}

const module = (type: string, config: Record<string, unknown> = {}) => ({ type, config });
const stream = module("livestream.native", { hls_url: "" });
const chat = module("chat.native", { volatile: true });
/** A chat that people join, and that has members. */
const talk = module("chat.native", { volatile: false });
const questions = module("question", { active: true, requires_moderation: true });
const polls = module("poll", { active: true });

const room = (
  name: string,
  description: string,
  ...module_config: TemplateRoom["module_config"]
): TemplateRoom => ({ name, description, module_config });

const stage = (name: string, description: string) =>
  room(name, description, stream, chat, questions, polls);

const rooms: Record<Template, readonly TemplateRoom[]> = {
  conference: [
    room(
      "Welcome",
      "Where to begin.",
      module("page.markdown", { content: "# Welcome\n\nThe stages are in the list of rooms." }),
    ),
    stage("Main stage", "Keynotes and talks."),
    stage("Second stage", "More talks."),
    room("Hallway", "Meet the others.", talk),
    room("Help desk", "Ask the organizers.", talk),
  ],
  webinar: [stage("Webinar", "The talk, with questions and polls.")],
  meetup: [stage("Stage", "The talks of the evening."), room("Lounge", "Meet the others.", talk)],
  workshop: [
    stage("Workshop", "What everybody does together."),
    room("Group 1", "Work in a small group.", talk),
    room("Group 2", "Work in a small group.", talk),
    room("Group 3", "Work in a small group.", talk),
    room("Help", "Ask the trainers.", talk),
  ],
};

/** The rooms of a template, in their order. */
export const roomsOf = (template: Template): readonly TemplateRoom[] => rooms[template];
