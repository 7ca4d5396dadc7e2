import { t } from "../../i18n/index.js";
import type { ModuleKind } from "../index.js";

export const kind: ModuleKind = {
  type: "livestream.native",
  place: "stage",
  order: 10,
  icon: "stage",
  label: () => t("stage.livestream"),
  view: () => import("./View.svelte"),
  form: () => import("./Form.svelte"),
  fresh: () => ({ hls_url: "" }),
};
