import { t } from "../../i18n/index.js";
import { may } from "../../lib/rights.js";
import type { ModuleKind } from "../index.js";

export const kind: ModuleKind = {
  type: "chat.native",
  place: "panel",
  order: 10,
  icon: "chat",
  label: () => t("chat.title"),
  isShown: (room) => may(room, "room:chat.read"),
  view: () => import("./View.svelte"),
  form: () => import("./Form.svelte"),
  fresh: () => ({ volatile: false }),
};
