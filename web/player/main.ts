import { choose, t, useLanguage } from "../i18n/index.js";
import { readPlayerHash } from "../lib/stream.js";
import { themeProperties } from "../state/theme.js";
import { Player } from "./player.js";
import { Screen } from "./screen.js";
import "./player.css";

// The player is a separate page in a frame inside the room: a stream may come from any server, and
// the other pages' content security policy forbids loading from other servers.

const base = new URL("../", location.href).href;
// Outside a frame, the player would show a video from any site under the event's address.
const isFramed = window.parent !== window;
const playing = isFramed ? readPlayerHash(location.hash, base) : undefined;
const language = choose([playing?.lang ?? null, ...navigator.languages]);
await useLanguage(language);
document.documentElement.lang = language;
document.title = playing?.title || t("stage.stream");
const theme = themeProperties({ colors: { primary: playing?.color ?? "" } });
for (const [name, value] of Object.entries(theme)) {
  document.documentElement.style.setProperty(name, value);
}
window.addEventListener("hashchange", () => location.reload());
if (playing) new Player(new Screen(playing), playing);
else document.body.append(t("stage.noStream"));
