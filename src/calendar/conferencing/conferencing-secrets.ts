/** Context that the encrypted settings of a conferencing service are bound to. */
export const conferencingSettingsContext = (serviceId: string): string =>
  `conferencing.settings:${serviceId}`;
