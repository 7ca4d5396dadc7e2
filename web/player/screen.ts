import { t } from "../i18n/index.js";
import type { Playing } from "../lib/stream.js";

/** Maximum size of a captions file, in bytes. */
const MAX_CAPTIONS = 5 * 1024 * 1024;

/** The player's screen: the video, or a message that covers it. */
export class Screen {
  readonly video = element("video", "video");
  /** Called when the user wants to retry. */
  onretry: () => void = () => {};
  /** Called when the user selects another version of the stream. */
  onchoose: (url: string) => void = () => {};
  readonly #cover = element("div", "cover");
  readonly #text = element("p", "text");
  readonly #hint = element("p", "hint");
  readonly #retry = element("button", "button");
  readonly #unmute = element("button", "button primary unmute");
  #track: HTMLTrackElement | undefined;
  #captions: Promise<string> | undefined;

  constructor(playing: Playing) {
    const { video } = this;
    video.controls = true;
    video.playsInline = true;
    // Browsers block autoplay with sound, and sudden sound startles viewers.
    video.muted = playing.sound !== true;
    video.autoplay = true;
    const heading = element("h1", "unseen");
    heading.textContent = playing.title || t("stage.stream");
    video.setAttribute("aria-label", heading.textContent);
    this.#fillCover(playing.image);
    this.#fillUnmute();
    const main = element("main", "player");
    main.append(heading, video, this.#unmute, this.#cover);
    if (playing.alternatives.length > 0) main.append(this.#versions(playing));
    document.body.append(main);
    this.show("loading");
  }

  /** Shows the video, or a message over the video. */
  show(what: "video" | "loading" | "message", text = ""): void {
    // The stream's form in the console embeds the player to check whether an address plays.
    if (parent !== window) parent.postMessage({ shows: what }, location.origin);
    this.#cover.hidden = what === "video";
    this.#cover.classList.toggle("loading", what === "loading");
    this.#text.textContent = what === "loading" ? t("common.loading") : text || null;
    this.#hint.hidden = this.#retry.hidden = what !== "message";
    // The keyboard must not reach covered elements.
    this.video.inert = what !== "video";
    this.#showUnmute();
  }

  /**
   * Adds captions, which this page fetches itself: a `<track>` from another server would require
   * CORS for the video as well, which most servers do not grant.
   */
  captions(url: string, lang: string): void {
    this.#captions ??= loadCaptions(url);
    this.#captions.then(
      (address) => {
        this.#track?.remove();
        const track = element("track", "");
        track.kind = "captions";
        track.label = t("stage.captions");
        track.srclang = lang;
        track.src = address;
        this.video.append(track);
        this.#track = track;
      },
      // Show the video without captions; the next start retries.
      () => (this.#captions = undefined),
    );
  }

  #fillCover(image: string | undefined): void {
    if (image) {
      const picture = element("img", "picture");
      picture.src = image;
      picture.alt = "";
      this.#cover.append(picture);
    }
    const spinner = element("span", "spinner");
    spinner.setAttribute("aria-hidden", "true");
    const words = element("div", "words");
    words.setAttribute("role", "status");
    this.#hint.textContent = t("stage.waiting");
    this.#retry.type = "button";
    this.#retry.textContent = t("common.retry");
    this.#retry.addEventListener("click", () => {
      this.show("loading");
      this.onretry();
    });
    words.append(this.#text, this.#hint);
    this.#cover.append(spinner, words, this.#retry);
  }

  #fillUnmute(): void {
    const { video } = this;
    this.#unmute.type = "button";
    this.#unmute.append(muteIcon(), t("stage.unmute"));
    this.#unmute.addEventListener("click", () => {
      video.muted = false;
      if (video.volume === 0) video.volume = 1;
      video.play().catch(() => {});
      video.focus();
    });
    video.addEventListener("volumechange", () => this.#showUnmute());
  }

  #showUnmute(): void {
    this.#unmute.hidden = !this.video.muted || !this.#cover.hidden;
  }

  #versions({ url, alternatives }: Playing): HTMLElement {
    const select = element("select", "input");
    const all = [{ label: t("stage.defaultVersion"), url }, ...alternatives];
    for (const { label, url } of all) select.add(new Option(label, url));
    select.addEventListener("change", () => this.onchoose(select.value));
    const label = element("label", "versions");
    const name = element("span", "unseen");
    name.textContent = t("stage.version");
    label.append(name, select);
    return label;
  }
}

const element = <K extends keyof HTMLElementTagNameMap>(
  name: K,
  className: string,
): HTMLElementTagNameMap[K] => {
  const it = document.createElement(name);
  if (className) it.className = className;
  return it;
};

function muteIcon(): SVGElement {
  const svg = (name: string, attributes: Record<string, string>) => {
    const it = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) it.setAttribute(key, value);
    return it;
  };
  const icon = svg("svg", {
    viewBox: "0 0 24 24",
    width: "20",
    height: "20",
    fill: "none",
    stroke: "currentColor",
    "stroke-width": "1.8",
    "stroke-linecap": "round",
    "aria-hidden": "true",
  });
  icon.append(svg("path", { d: "M4 10v4h3l6 5V5l-6 5zM17 9.5l4 5M21 9.5l-4 5" }));
  return icon;
}

/**
 * Downloads captions.
 * @returns the captions' `blob:` address.
 */
async function loadCaptions(url: string): Promise<string> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${answer.status}`);
  const blob = await answer.blob();
  if (blob.size > MAX_CAPTIONS) throw new Error("The captions are too long.");
  return URL.createObjectURL(new Blob([blob], { type: "text/vtt" }));
}
