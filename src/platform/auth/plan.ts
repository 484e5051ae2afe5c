/** `quickstart` allows one connected account (spec 1), `standard` any number. */
export const PLANS = ['quickstart', 'standard'] as const;
export type Plan = (typeof PLANS)[number];

/** Features that are switched on per application. `sms`: SMS reminders (spec 4.5 rule 4). `neural`: /neural. */
export const APPLICATION_FEATURES = ['sms', 'neural'] as const;
export type ApplicationFeature = (typeof APPLICATION_FEATURES)[number];
