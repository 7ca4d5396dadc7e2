/** Interval between two rings, in milliseconds. */
const RING_INTERVAL_MS = 2500;

/** Two tones, like a phone's: frequency in Hz, start and duration in seconds. */
const TONES = [
  [440, 0, 0.35],
  [554, 0.4, 0.35],
] as const;

/**
 * Rings with sound and vibration, and with a notification if the page is hidden. Browsers may
 * refuse each of these.
 * @param text the text of the notification.
 * @returns a function that stops the ringing.
 */
export function ring(text: string): () => void {
  const context = new AudioContext();
  const play = () => {
    navigator.vibrate?.([300, 200, 300]);
    if (context.state !== "running") return;
    for (const [frequency, begin, duration] of TONES) {
      const tone = context.createOscillator();
      const volume = context.createGain();
      const at = context.currentTime + begin;
      tone.frequency.value = frequency;
      volume.gain.setValueAtTime(0.15, at);
      volume.gain.exponentialRampToValueAtTime(0.001, at + duration);
      tone.connect(volume).connect(context.destination);
      tone.start(at);
      tone.stop(at + duration);
    }
  };
  void context.resume().then(play, () => {});
  play();
  const timer = setInterval(play, RING_INTERVAL_MS);
  const notice = document.hidden ? noticeOf(text) : undefined;
  return () => {
    clearInterval(timer);
    notice?.close();
    navigator.vibrate?.(0);
    void context.close().catch(() => {});
  };
}

function noticeOf(text: string): Notification | undefined {
  if (!("Notification" in globalThis) || Notification.permission !== "granted") return undefined;
  try {
    const notice = new Notification(text, { tag: "foyer-call" });
    notice.onclick = () => {
      window.focus();
      notice.close();
    };
    return notice;
  } catch {
    // Chrome on Android supports only notifications from service workers, and the server sends one.
    return undefined;
  }
}
