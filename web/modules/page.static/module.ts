import { t } from "../../i18n/index.js";
import type { ModuleKind } from "../index.js";

export const kind: ModuleKind = {
  type: "page.static",
  place: "stage",
  order: 50,
  icon: "page",
  label: () => t("stage.html"),
  view: () => import("./View.svelte"),
  form: () => import("./Form.svelte"),
  fresh: () => ({ content: "" }),
};
