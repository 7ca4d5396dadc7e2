import type { ErrorData } from "hls.js";
import { isFile } from "../lib/stream.js";

/** Why a stream does not play: it is missing, its server does not answer, or it is no video. */
export type Failure = "absent" | "unreachable" | "unplayable";

/** The engine that plays one address in an element. */
export interface Engine {
  /** Whether it is being broadcast now. */
  readonly isLive: boolean;
  /** The time up to which it can be played now, in seconds; undefined if unknown. */
  readonly edge: number | undefined;
  /** Stops, and lets go of the element. */
  stop(): void;
}

const HLS = "application/vnd.apple.mpegurl";

/** A stream that fails this often right after its start is given up. */
const MAX_RECOVERIES = 2;

/**
 * Plays a stream or a file. The browser itself plays HLS if it can; hls.js does otherwise,
 * and if the browser fails.
 * @param failed is called once at most, after the engine has stopped.
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

/** Lets the browser play. */
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

/** Elements report the same error for a missing video and for a file that is no video. */
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

/** Lets hls.js play, which is loaded only now. */
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
    // A worker would be made from a blob, and these captions from a string of XML: the
    // policy of the page forbids both.
    enableWorker: false,
    enableIMSC1: false,
    backBufferLength: 60,
    // The controls of the browser then say that it is live.
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
  // An answer that is no playlist: many servers have one before the stream begins.
  return status >= 200 && status < 300 ? "absent" : reasonOfStatus(status);
}
