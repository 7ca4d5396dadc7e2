import { t } from "../../i18n/index.js";
import { may } from "../../lib/rights.js";
import type { ModuleKind } from "../index.js";

export const kind: ModuleKind = {
  type: "question",
  place: "panel",
  order: 20,
  icon: "question",
  label: () => t("questions.title"),
  isShown: (room, { config }) => config["active"] === true && may(room, "room:question.read"),
  view: () => import("./View.svelte"),
  form: () => import("./Form.svelte"),
  fresh: () => ({ active: true, requires_moderation: true }),
};
