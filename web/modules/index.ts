import type { Component } from "svelte";
import type { SentRoom } from "../../client/index.js";
import type { IconName } from "../components/Icon.svelte";
import { callPart } from "../call/load.js";
import { t, withLateWords } from "../i18n/index.js";
import { may, type RoomModule } from "../lib/rights.js";
import type { FormProps, ViewProps } from "../state/rooms.js";

// To add a kind of module, add it to the list below, and its settings to Form.svelte.

export interface ModuleKind {
  /** The `type` of modules of this kind. */
  readonly type: string;
  /** `stage`: large, at the top of the room; `panel`: in a tab next to the stage. */
  readonly place: "stage" | "panel";
  /** Sort order of the tabs. */
  readonly order: number;
  readonly icon: IconName;
  /** Display name in the page's language. */
  readonly label: () => string;
  /** Whether the module is built into every room, so that hosts do not add it. */
  readonly isOwn?: true;
  /** Whether the module has anything to show. If undefined, the module is always shown. */
  readonly isShown?: (room: SentRoom, module: RoomModule) => boolean;
  readonly view: () => Promise<{ default: Component<ViewProps> }>;
  /** The configuration form in the console. Without a form, hosts edit JSON. */
  readonly form?: () => Promise<{ default: Component<FormProps> }>;
  /** Returns the configuration of a new module. */
  readonly fresh: () => Record<string, unknown>;
}

const loadForm = () => import("./Form.svelte");
const loadCallForm = () => import("./call.native/Form.svelte");
const loadMeeting = () => callPart("Meeting");

/** All kinds of modules, in the order in which the console offers them. */
const all: readonly ModuleKind[] = [
  {
    type: "chat.native",
    place: "panel",
    order: 10,
    icon: "chat",
    label: () => t("chat.title"),
    isShown: (room) => may(room, "room:chat.read"),
    view: () => import("./chat.native/View.svelte"),
    form: loadForm,
    fresh: () => ({ volatile: false }),
  },
  {
    type: "livestream.native",
    place: "stage",
    order: 10,
    icon: "stage",
    label: () => t("stage.livestream"),
    view: () => import("./livestream.native/View.svelte"),
    form: () => import("./livestream.native/Form.svelte"),
    fresh: () => ({ hls_url: "" }),
  },
  {
    type: "call.native",
    place: "stage",
    order: 12,
    icon: "camera",
    label: () => t("stage.call"),
    view: () => callPart("RoomCall"),
    form: loadCallForm,
    fresh: () => ({ mode: "call" }),
  },
  {
    type: "call.bigbluebutton",
    place: "stage",
    order: 14,
    icon: "camera",
    label: () => t("stage.bigbluebutton"),
    view: loadMeeting,
    form: loadCallForm,
    fresh: () => ({}),
  },
  {
    type: "call.jitsi",
    place: "stage",
    order: 16,
    icon: "camera",
    label: () => t("stage.jitsi"),
    view: loadMeeting,
    form: loadCallForm,
    fresh: () => ({}),
  },
  {
    type: "livestream.youtube",
    place: "stage",
    order: 20,
    icon: "stage",
    label: () => t("stage.youtube"),
    view: () => import("./livestream.youtube/View.svelte"),
    form: loadForm,
    fresh: () => ({ ytid: "" }),
  },
  {
    type: "question",
    place: "panel",
    order: 20,
    icon: "question",
    label: () => t("questions.title"),
    isShown: (room, { config }) => config["active"] === true && may(room, "room:question.read"),
    view: () => import("./question/View.svelte"),
    form: loadForm,
    fresh: () => ({ active: true, requires_moderation: true }),
  },
  {
    type: "livestream.iframe",
    place: "stage",
    order: 30,
    icon: "stage",
    label: () => t("stage.streamFrame"),
    view: () => import("./iframe/View.svelte"),
    form: loadForm,
    fresh: () => ({ url: "" }),
  },
  {
    type: "poll",
    place: "panel",
    order: 30,
    icon: "poll",
    label: () => t("polls.title"),
    isShown: (room, { config }) => config["active"] === true && may(room, "room:poll.read"),
    view: () => withLateWords(import("./poll/View.svelte")),
    form: loadForm,
    fresh: () => ({ active: true }),
  },
  {
    type: "page.markdown",
    place: "stage",
    order: 40,
    icon: "page",
    label: () => t("stage.text"),
    view: () => import("./page/View.svelte"),
    form: loadForm,
    fresh: () => ({ content: "" }),
  },
  {
    type: "page.static",
    place: "stage",
    order: 50,
    icon: "page",
    label: () => t("stage.html"),
    view: () => import("./page/View.svelte"),
    form: loadForm,
    fresh: () => ({ content: "" }),
  },
  {
    type: "page.iframe",
    place: "stage",
    order: 60,
    icon: "external",
    label: () => t("stage.pageFrame"),
    view: () => import("./iframe/View.svelte"),
    form: loadForm,
    fresh: () => ({ url: "" }),
  },
  {
    type: "people",
    place: "panel",
    order: 90,
    icon: "people",
    isOwn: true,
    label: () => t("stage.people"),
    isShown: (room) => may(room, "room:viewers"),
    view: () => import("./people/View.svelte"),
    fresh: () => ({}),
  },
];

/** The kinds of modules that hosts may add to a room. */
export const kinds: readonly ModuleKind[] = all.filter(({ isOwn }) => !isOwn);

/** Returns the kind of a module by its type, or undefined if these pages do not know the type. */
export const kindOf = (type: string): ModuleKind | undefined =>
  all.find((kind) => kind.type === type);
