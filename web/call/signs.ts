/** The paths of the icons that only calls use, in the format of components/Icon.svelte. */
export const signs = {
  microphoneOff:
    "M9 9v3a3 3 0 0 0 4.6 2.5M15 11V6a3 3 0 0 0-5.7-1.3M6 12a6 6 0 0 0 9.5 4.9M18 12a6 6 0 0 1-.4 2.1M12 18v3M4 4l16 16",
  cameraOff: "M7 7H4a1 1 0 0 0-1 1v8a1 1 0 0 0 1 1h10M11 7h3a1 1 0 0 1 1 1v3l6-3v8M4 3l16 18",
  present: "M4 5h16v11H4zM12 13V8M9.5 10.5 12 8l2.5 2.5M9 20h6",
  hand: "M8 15V6.5a1.5 1.5 0 0 1 3 0V11M11 10V4.5a1.5 1.5 0 0 1 3 0V11M14 10V6a1.5 1.5 0 0 1 3 0v8a6.5 6.5 0 0 1-12.2 3L3.4 14a1.5 1.5 0 0 1 2.6-1.5L8 15",
  hangUp: "M3 14.5c0-3 4-5.5 9-5.5s9 2.5 9 5.5V17l-5-1v-3a14 14 0 0 0-8 0v3l-5 1z",
} as const;
