/** What the sealed settings of a conferencing service are bound to. */
export const conferencingSettingsContext = (serviceId: string): string =>
  `conferencing.settings:${serviceId}`;
