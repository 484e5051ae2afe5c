import { z } from 'zod';
import { address } from '../company-addresses.ts';
import type { OperatorRole } from '../operator-roles.ts';
import { type TrustedProxies, trustedProxies } from '../trusted-proxies.ts';
import type { TlsFiles } from './tls-config.ts';
import { wholeNumber } from '../whole-number.ts';

/** `operate:admins` as its two parts. */
const role = z.string().transform((value, context) => {
  const [, name = '', wanted = ''] = /^(read|operate):(.+)$/.exec(value) ?? [];
  if (name && wanted) return { role: name as OperatorRole, value: wanted };
  context.addIssue({
    code: 'custom',
    message:
      'must be read: or operate: and a value of the claim, separated by commas, such as operate:admins,read:support',
  });
  return z.NEVER;
});

const roles = z
  .string()
  .transform((value) =>
    value
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean),
  )
  .pipe(z.array(role).min(1));

// Providers compare issuers exactly, so a trailing slash stays.
const issuer = z
  .string()
  .refine(
    (value) => /^https?:\/\//.test(value) && URL.canParse(value),
    'must be an address that starts with http:// or https://',
  );

/** Variables of the operators' listener and sign-in. */
export const operatorVariables = {
  OPERATOR_PORT: wholeNumber(0, 65_535).optional(),
  OPERATOR_HOST: z.string().trim().min(1).default('127.0.0.1'),
  OPERATOR_TRUST_PROXY: trustedProxies,
  OPERATOR_URL: address.optional(),
  OPERATOR_OIDC_ISSUER: issuer.optional(),
  OPERATOR_OIDC_CLIENT_ID: z.string().trim().min(1).optional(),
  OPERATOR_OIDC_CLIENT_SECRET: z.string().trim().min(1).optional(),
  OPERATOR_OIDC_SCOPES: z.string().trim().min(1).default('openid profile email'),
  OPERATOR_OIDC_CLAIM: z.string().trim().min(1).default('groups'),
  OPERATOR_OIDC_ROLES: roles.optional(),
};

/** How operators sign in by OpenID Connect. */
export interface OperatorOidc {
  /** Address of the issuer, exactly as the provider writes it. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  scopes: readonly string[];
  /** Claim of the id token whose values give the role. */
  claim: string;
  /** Values of the claim, each with its role. A user without any of them is refused. */
  roles: readonly { role: OperatorRole; value: string }[];
}

/** Where operators reach this process, and how they sign in. */
export interface OperatorConfig {
  /** Port of the operators' own listener, 0 = any free one; `null` = there is none. */
  port: number | null;
  /** Interface of that listener. */
  host: string;
  /**
   * Proxies in front of that listener whose `X-Forwarded-For` is trusted; `false` = none. On the
   * main port, `trustedProxies` of the whole configuration applies to operators too.
   */
  trustedProxies: TrustedProxies;
  /** Address under which operators open the console, without a trailing slash. */
  url: string;
  /** `null` = operators sign in by password or link only. */
  oidc: OperatorOidc | null;
}

type Values = z.infer<z.ZodObject<typeof operatorVariables>>;

/**
 * Reads the settings of operators.
 * @param main address of the main API and the certificate, which both listeners use
 * @param problems gets a line for each setting that is missing
 */
export function operatorConfig(
  env: Values,
  main: { baseUrl: string; tls: TlsFiles | null },
  problems: string[],
): OperatorConfig {
  const port = env.OPERATOR_PORT ?? null;
  const own = `${main.tls ? 'https' : 'http'}://localhost:${port}`;
  return {
    port,
    host: env.OPERATOR_HOST,
    trustedProxies: env.OPERATOR_TRUST_PROXY,
    url: env.OPERATOR_URL ?? (port === null ? main.baseUrl : own),
    oidc: oidcOf(env, problems),
  };
}

/**
 * Whether a process with these settings serves the console: on the listener of operators, or
 * outside production on the main port.
 */
export const servesConsole = ({
  environment,
  operator,
}: {
  environment: string;
  operator: Pick<OperatorConfig, 'port'>;
}): boolean => environment !== 'production' || operator.port !== null;

function oidcOf(env: Values, problems: string[]): OperatorOidc | null {
  const {
    OPERATOR_OIDC_ISSUER: issuer,
    OPERATOR_OIDC_CLIENT_ID: clientId,
    OPERATOR_OIDC_CLIENT_SECRET: clientSecret,
    OPERATOR_OIDC_ROLES: byValue,
  } = env;
  const needed = {
    OPERATOR_OIDC_ISSUER: issuer,
    OPERATOR_OIDC_CLIENT_ID: clientId,
    OPERATOR_OIDC_CLIENT_SECRET: clientSecret,
    OPERATOR_OIDC_ROLES: byValue,
  };
  const missing = Object.entries(needed).filter(([, value]) => value === undefined);
  if (missing.length === Object.keys(needed).length) return null;
  for (const [name] of missing)
    problems.push(`${name}: is required, because operators sign in by OpenID Connect`);
  if (!issuer || !clientId || !clientSecret || !byValue) return null;
  return {
    issuer,
    clientId,
    clientSecret,
    scopes: env.OPERATOR_OIDC_SCOPES.split(/\s+/),
    claim: env.OPERATOR_OIDC_CLAIM,
    roles: byValue,
  };
}
