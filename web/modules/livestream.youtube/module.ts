import { t } from "../../i18n/index.js";
import type { ModuleKind } from "../index.js";

export const kind: ModuleKind = {
  type: "livestream.youtube",
  place: "stage",
  order: 20,
  icon: "stage",
  label: () => t("stage.youtube"),
  view: () => import("./View.svelte"),
  form: () => import("./Form.svelte"),
  fresh: () => ({ ytid: "" }),
};
