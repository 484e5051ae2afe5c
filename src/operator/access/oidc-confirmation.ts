/**
 * How long a sign-in vouches for an operator of OpenID Connect, in days. Carillon asks the provider
 * at sign-ins only, so what the provider takes away in between shows at the next one.
 */
export const OIDC_CONFIRMED_DAYS = 30;

/** SQL: the end of that time for operator `o`. In hours, as a day of PostgreSQL has 23 to 25. */
export const CONFIRMED_UNTIL = `o.last_sign_in_at + interval '${OIDC_CONFIRMED_DAYS * 24} hours'`;

/**
 * SQL: when token `t` of operator `o` ends; `null` if it works until it is revoked. The tokens of
 * an operator of OpenID Connect end with the confirmation of the operator.
 */
export const TOKEN_END = `least(t.expires_at, case when o.issuer is not null then ${CONFIRMED_UNTIL} end)`;
