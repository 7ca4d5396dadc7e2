import { t } from "../i18n/index.js";
import { pauseAfter, type Playing } from "../lib/stream.js";
import { play, type Engine, type Failure } from "./engine.js";
import type { Screen } from "./screen.js";

/** Interval of the health check, in milliseconds. */
const TICK = 1000;

/** Duration of a gap between two checks above which the page must have been asleep, in milliseconds. */
const SLEEP = 15_000;

/** Duration of a stall after which the stream counts as broken, in milliseconds. */
const STALL = 20_000;

/** Maximum lag behind a live stream after a sleep, in seconds. */
const BEHIND = 20;

/** Plays a stream on a screen, and retries until the stream plays. */
export class Player {
  readonly #screen: Screen;
  readonly #video: HTMLVideoElement;
  readonly #playing: Playing;
  #url: string;
  #engine: Engine | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  /** Number of consecutive failures. */
  #failures = 0;
  /** Whether any part of the stream has played. */
  #hasPlayed = false;
  #lastTick = Date.now();
  /** The last playback position, and when it was reached. */
  #still = { at: 0, since: 0 };

  constructor(screen: Screen, playing: Playing) {
    this.#screen = screen;
    this.#video = screen.video;
    this.#playing = playing;
    this.#url = playing.url;
    screen.onretry = () => this.#start();
    screen.onchoose = (url) => {
      this.#url = url;
      this.#failures = 0;
      this.#hasPlayed = false;
      this.#start();
    };
    this.#video.addEventListener("loadeddata", () => this.#loaded());
    window.addEventListener("online", () => this.#wake());
    document.addEventListener("visibilitychange", () => this.#tick());
    setInterval(() => this.#tick(), TICK);
    this.#start();
  }

  #start(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#engine?.stop();
    this.#stirred();
    // Viewers who wait for a stream to begin need not see each attempt.
    if (this.#failures === 0) this.#screen.show("loading");
    this.#engine = play(this.#video, this.#url, (failure) => this.#failed(failure));
    this.#play();
  }

  #play(): void {
    const video = this.#video;
    video.play().catch((error: unknown) => {
      const isRefused = error instanceof DOMException && error.name === "NotAllowedError";
      // If even muted playback is refused, the browser requires a click on the video's controls.
      if (!isRefused || video.muted) return;
      video.muted = true;
      this.#play();
    });
  }

  #loaded(): void {
    this.#failures = 0;
    this.#hasPlayed = true;
    this.#screen.show("video");
    if (this.#video.paused) this.#play();
    // hls.js removes all captions when it starts, so add them afterwards.
    const { subtitles, lang } = this.#playing;
    if (subtitles) this.#screen.captions(subtitles, lang);
  }

  #failed(failure: Failure): void {
    this.#engine = undefined;
    const text = this.#hasPlayed
      ? t("stage.ended")
      : failure === "absent"
        ? t("stage.offline")
        : t("stage.broken");
    this.#screen.show("message", text);
    const pause = pauseAfter(++this.#failures);
    this.#retry = setTimeout(() => this.#start(), pause);
  }

  #tick(): void {
    const now = Date.now();
    const hasSlept = now - this.#lastTick > SLEEP;
    this.#lastTick = now;
    if (hasSlept) this.#wake();
    const { currentTime, paused, ended, readyState } = this.#video;
    const isFine = paused || ended || !this.#engine || readyState > 2 || !this.#hasPlayed;
    if (isFine || currentTime !== this.#still.at) this.#stirred();
    else if (now - this.#still.since > STALL) {
      this.#engine?.stop();
      this.#failed("unreachable");
    }
  }

  #stirred(): void {
    this.#still = { at: this.#video.currentTime, since: Date.now() };
  }

  /** Retries or catches up, after a sleep or a reconnection. */
  #wake(): void {
    this.#stirred();
    if (this.#retry !== undefined) return this.#start();
    const { isLive, edge } = this.#engine ?? {};
    if (!isLive || edge === undefined || this.#video.paused) return;
    if (edge - this.#video.currentTime > BEHIND) this.#video.currentTime = edge;
  }
}
