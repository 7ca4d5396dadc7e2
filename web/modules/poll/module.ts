import { t } from "../../i18n/index.js";
import { may } from "../../lib/rights.js";
import type { ModuleKind } from "../index.js";

export const kind: ModuleKind = {
  type: "poll",
  place: "panel",
  order: 30,
  icon: "poll",
  label: () => t("polls.title"),
  isShown: (room, { config }) => config["active"] === true && may(room, "room:poll.read"),
  view: () => import("./View.svelte"),
  form: () => import("./Form.svelte"),
  fresh: () => ({ active: true }),
};
