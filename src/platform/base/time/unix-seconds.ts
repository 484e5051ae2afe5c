/** Instant → Unix seconds, the wire's unit of time (spec 2). Fractions are cut off. */
export function toUnixSeconds(instant: Date): number {
  return Math.floor(instant.getTime() / 1000);
}

export function fromUnixSeconds(seconds: number): Date {
  return new Date(seconds * 1000);
}

/** As `toUnixSeconds`, keeping null. */
export function toUnixSecondsOrNull(instant: Date | null | undefined): number | null {
  return instant ? toUnixSeconds(instant) : null;
}
