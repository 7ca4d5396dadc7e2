import { type Readable, writable } from "svelte/store";
import type { Shelf } from "../../lib/storage.js";

/** The selected device for a source, and whether it is switched on. */
export interface Chosen {
  readonly isOn: boolean;
  /** Undefined for the browser's default. */
  readonly id?: string | undefined;
}

/** The devices that a person uses to enter a call. */
export interface DeviceChoice {
  readonly microphone: Chosen;
  readonly camera: Chosen;
  readonly speaker?: string | undefined;
}

/** Enters without devices. */
export const LISTENER: DeviceChoice = { microphone: { isOn: false }, camera: { isOn: false } };

/**
 * Why a device cannot be used: permission denied, no such device, in use by another program, or an
 * insecure page.
 */
export type DeviceFault = "denied" | "none" | "busy" | "blocked";

export type CaptureKind = "microphone" | "camera";

/** A device that the browser offers. */
export interface Device {
  readonly id: string;
  readonly label: string;
}

/** The state of the preview. */
export interface PreviewView {
  /** Whether the browser is asking for permission. */
  readonly isAsking: boolean;
  readonly choice: DeviceChoice;
  readonly faults: Readonly<Partial<Record<CaptureKind, DeviceFault>>>;
  readonly microphones: readonly Device[];
  readonly cameras: readonly Device[];
  readonly speakers: readonly Device[];
  /** The own picture. */
  readonly picture: MediaStream | undefined;
}

const KEY = "foyer:devices";

/** Interval between two measurements of the level, in milliseconds. */
const LEVEL_MS = 100;

const faultNames: Record<string, DeviceFault> = {
  NotAllowedError: "denied",
  SecurityError: "denied",
  NotFoundError: "none",
  OverconstrainedError: "none",
  NotReadableError: "busy",
  AbortError: "busy",
};

/** Returns why a device could not be opened. */
export const faultOf = (error: unknown): DeviceFault =>
  faultNames[(error as Error | undefined)?.name ?? ""] ?? "none";

/** Reads the last selection of devices. */
export function keptChoice(shelf: Shelf): DeviceChoice | undefined {
  try {
    const kept = JSON.parse(shelf.getItem(KEY) ?? "") as Partial<DeviceChoice>;
    const chosen = (it: Partial<Chosen> | undefined): Chosen => ({
      isOn: it?.isOn === true,
      ...(typeof it?.id === "string" && { id: it.id }),
    });
    return {
      microphone: chosen(kept.microphone),
      camera: chosen(kept.camera),
      ...(typeof kept.speaker === "string" && { speaker: kept.speaker }),
    };
  } catch {
    return undefined;
  }
}

/** Stores a selection of devices for the next call. */
export const keepChoice = (shelf: Shelf, choice: DeviceChoice): void =>
  shelf.setItem(KEY, JSON.stringify(choice));

/** The part of `navigator.mediaDevices` that the preview uses. */
type Media = Pick<
  MediaDevices,
  "getUserMedia" | "enumerateDevices" | "addEventListener" | "removeEventListener"
>;

/** The preview before a call, with the choice of devices. Nobody else sees or hears it. */
export class DevicePreview implements Readable<PreviewView> {
  readonly #media: Media | undefined;
  readonly #store;
  readonly subscribe: Readable<PreviewView>["subscribe"];
  readonly #level = writable(0);
  /** The loudness of the microphone, from 0 to 1. */
  readonly level: Readable<number> = this.#level;
  #view: PreviewView;
  readonly #streams = new Map<CaptureKind, MediaStream>();
  #meter: { context: AudioContext; timer: ReturnType<typeof setInterval> } | undefined;
  #isOver = false;
  readonly #listed = () => void this.#list();

  constructor(choice: DeviceChoice, media: Media | undefined = navigator.mediaDevices) {
    this.#media = media;
    this.#view = {
      isAsking: false,
      choice,
      faults: {},
      microphones: [],
      cameras: [],
      speakers: [],
      picture: undefined,
    };
    this.#store = writable(this.#view);
    this.subscribe = this.#store.subscribe;
  }

  /** Opens the selected devices. */
  async start(): Promise<void> {
    const { microphone, camera } = this.#view.choice;
    this.#media?.addEventListener("devicechange", this.#listed);
    this.#set({ isAsking: true });
    // One at a time, because the browser asks once per device, and one of them may be missing.
    if (microphone.isOn) await this.#open("microphone");
    if (camera.isOn) await this.#open("camera");
    this.#set({ isAsking: false });
    await this.#list();
  }

  /** Closes all devices. */
  stop(): void {
    this.#isOver = true;
    this.#media?.removeEventListener("devicechange", this.#listed);
    for (const kind of this.#streams.keys()) this.#close(kind);
  }

  /** Switches a device on or off. */
  async toggle(kind: CaptureKind): Promise<void> {
    const isOn = !this.#view.choice[kind].isOn;
    this.#choose(kind, { ...this.#view.choice[kind], isOn });
    if (isOn) await this.#open(kind);
    else this.#close(kind);
    await this.#list();
  }

  /** Uses another device. */
  async use(kind: CaptureKind | "speaker", id: string): Promise<void> {
    if (kind === "speaker") {
      this.#set({ choice: { ...this.#view.choice, speaker: id } });
      return;
    }
    this.#choose(kind, { isOn: true, id });
    this.#close(kind);
    await this.#open(kind);
  }

  #choose(kind: CaptureKind, chosen: Chosen): void {
    this.#set({ choice: { ...this.#view.choice, [kind]: chosen } });
  }

  async #open(kind: CaptureKind): Promise<void> {
    const { id } = this.#view.choice[kind];
    const wanted = id === undefined ? true : { deviceId: { ideal: id } };
    const { [kind]: _, ...faults } = this.#view.faults;
    try {
      if (!this.#media) throw new DOMException("not a secure page", "SecurityError");
      const stream = await this.#media.getUserMedia(
        kind === "microphone" ? { audio: wanted } : { video: wanted },
      );
      if (this.#isOver || !this.#view.choice[kind].isOn) {
        for (const track of stream.getTracks()) track.stop();
        return;
      }
      this.#streams.set(kind, stream);
      this.#set({ faults, ...(kind === "camera" && { picture: stream }) });
      if (kind === "microphone") this.#measure(stream);
    } catch (error) {
      this.#choose(kind, { ...this.#view.choice[kind], isOn: false });
      const fault = this.#media ? faultOf(error) : "blocked";
      this.#set({ faults: { ...faults, [kind]: fault } });
    }
  }

  #close(kind: CaptureKind): void {
    for (const track of this.#streams.get(kind)?.getTracks() ?? []) track.stop();
    this.#streams.delete(kind);
    if (kind === "camera") this.#set({ picture: undefined });
    else this.#endMeter();
  }

  #measure(stream: MediaStream): void {
    this.#endMeter();
    const context = new AudioContext();
    const analyser = context.createAnalyser();
    analyser.fftSize = 512;
    context.createMediaStreamSource(stream).connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    const timer = setInterval(() => {
      analyser.getFloatTimeDomainData(samples);
      const power = samples.reduce((sum, it) => sum + it * it, 0) / samples.length;
      // Speech reaches only a few percent of the maximum amplitude.
      this.#level.set(Math.min(1, Math.sqrt(power) * 5));
    }, LEVEL_MS);
    this.#meter = { context, timer };
  }

  #endMeter(): void {
    clearInterval(this.#meter?.timer);
    void this.#meter?.context.close().catch(() => {});
    this.#meter = undefined;
    this.#level.set(0);
  }

  async #list(): Promise<void> {
    // Browsers hide the devices' names until permission is granted, and a list without names is
    // useless.
    const found = (await this.#media?.enumerateDevices().catch(() => [])) ?? [];
    if (this.#isOver) return;
    const of = (kind: MediaDeviceKind): Device[] =>
      found
        .filter((it) => it.kind === kind && it.deviceId !== "" && it.label !== "")
        .map(({ deviceId, label }) => ({ id: deviceId, label }));
    this.#set({
      microphones: of("audioinput"),
      cameras: of("videoinput"),
      speakers: of("audiooutput"),
    });
  }

  #set(changes: Partial<PreviewView>): void {
    this.#view = { ...this.#view, ...changes };
    this.#store.set(this.#view);
  }
}
