import type { ErrorData } from "hls.js";
import { isFile } from "../lib/stream.js";

/** Why a stream does not play: the stream is missing, its server is unreachable, or it is not a video. */
export type Failure = "absent" | "unreachable" | "unplayable";

/** Plays one address in a video element. */
export interface Engine {
  /** Whether the stream is live. */
  readonly isLive: boolean;
  /** The latest position that can be played, in seconds, or undefined if it is unknown. */
  readonly edge: number | undefined;
  /** Stops playback and releases the element. */
  stop(): void;
}

const HLS = "application/vnd.apple.mpegurl";

/** Number of media errors to recover from before giving up. */
const MAX_RECOVERIES = 2;

/**
 * Plays a stream or a file. HLS streams use the browser's own support, if there is any. Without
 * such support, or if it fails, they use hls.js.
 * @param failed called at most once, after the engine has stopped.
 */
export function play(
  video: HTMLVideoElement,
  url: string,
  failed: (failure: Failure) => void,
): Engine {
  let engine: Engine | undefined;
  let isOver = false;
  const stop = () => {
    isOver = true;
    engine?.stop();
  };
  const fail = (failure: Failure) => {
    if (isOver) return;
    stop();
    failed(failure);
  };
  const useHls = () => {
    if (isOver) return;
    playHls(video, url, fail, () => isOver).then(
      (it) => (engine = it),
      () => fail("unplayable"),
    );
  };
  if (isFile(url)) engine = playDirectly(video, url, fail);
  else if (video.canPlayType(HLS) === "") useHls();
  else {
    engine = playDirectly(video, url, (failure) => {
      engine?.stop();
      if (failure === "absent" || !hasMediaSource()) fail(failure);
      else useHls();
    });
  }
  return {
    get isLive() {
      return engine?.isLive ?? false;
    },
    get edge() {
      return engine?.edge;
    },
    stop,
  };
}

const hasMediaSource = () => "MediaSource" in window || "ManagedMediaSource" in window;

/** Plays an address with the browser's own support. */
function playDirectly(
  video: HTMLVideoElement,
  url: string,
  failed: (failure: Failure) => void,
): Engine {
  const onError = () => void reasonOf(video, url).then(failed);
  video.addEventListener("error", onError, { once: true });
  video.src = url;
  return {
    get isLive() {
      return video.duration === Infinity;
    },
    get edge() {
      const { seekable } = video;
      return seekable.length > 0 ? seekable.end(seekable.length - 1) - 4 : undefined;
    },
    stop() {
      video.removeEventListener("error", onError);
      empty(video);
    },
  };
}

function empty(video: HTMLVideoElement): void {
  video.removeAttribute("src");
  video.load();
}

/**
 * Returns why a video failed. Media elements report the same error for a missing file and for a
 * file that is not a video.
 */
async function reasonOf(video: HTMLVideoElement, url: string): Promise<Failure> {
  if (video.error?.code === MediaError.MEDIA_ERR_NETWORK) return "unreachable";
  if (video.error?.code === MediaError.MEDIA_ERR_DECODE) return "unplayable";
  try {
    const { ok, status } = await fetch(url, { method: "HEAD" });
    return ok ? "unplayable" : reasonOfStatus(status);
  } catch {
    return "unreachable";
  }
}

const reasonOfStatus = (status: number): Failure =>
  status >= 400 && status < 500 ? "absent" : "unreachable";

/** Plays an address with hls.js, which is loaded on demand. */
async function playHls(
  video: HTMLVideoElement,
  url: string,
  failed: (failure: Failure) => void,
  isOver: () => boolean,
): Promise<Engine | undefined> {
  const { default: Hls } = await import("hls.js");
  if (isOver()) return undefined;
  if (!Hls.isSupported()) throw new Error("There are no media sources.");
  const hls = new Hls({
    // hls.js would create a worker from a blob and IMSC1 captions from an XML string; the page's
    // content security policy forbids both.
    enableWorker: false,
    enableIMSC1: false,
    backBufferLength: 60,
    // Lets the browser's controls indicate that the stream is live.
    liveDurationInfinity: true,
  });
  let recoveries = 0;
  let isLive = false;
  hls.on(Hls.Events.LEVEL_LOADED, (_, { details }) => {
    isLive = details.live;
  });
  hls.on(Hls.Events.ERROR, (_, data) => {
    if (!data.fatal) return;
    const isMedia = data.type === Hls.ErrorTypes.MEDIA_ERROR;
    if (isMedia && recoveries++ < MAX_RECOVERIES) hls.recoverMediaError();
    else failed(reasonOfHls(data, data.type === Hls.ErrorTypes.NETWORK_ERROR));
  });
  hls.loadSource(url);
  hls.attachMedia(video);
  return {
    get isLive() {
      return isLive;
    },
    get edge() {
      return hls.liveSyncPosition ?? undefined;
    },
    stop() {
      hls.destroy();
      empty(video);
    },
  };
}

function reasonOfHls({ response }: ErrorData, isNetwork: boolean): Failure {
  if (!isNetwork) return "unplayable";
  const status = response?.code ?? 0;
  // A successful response, but not a playlist: many servers respond like this before a stream
  // begins.
  return status >= 200 && status < 300 ? "absent" : reasonOfStatus(status);
}
