import { z } from 'zod';

/** An http or https URL, without a trailing slash. */
export const address = z
  .string()
  .refine(
    (value) => /^https?:\/\//.test(value) && URL.canParse(value),
    'must be an address that starts with http:// or https://',
  )
  .transform((value) => value.replace(/\/+$/, ''));

/** Variables with the addresses of Google and Microsoft, for national clouds and tests. */
export const companyVariables = {
  GOOGLE_URL: address.optional(),
  MICROSOFT_LOGIN_URL: address.default('https://login.microsoftonline.com'),
  MICROSOFT_GRAPH_URL: address.default('https://graph.microsoft.com'),
};

/** The addresses, without trailing slashes. */
export interface CompanyAddresses {
  /**
   * Stands for all of Google's (sign-in, Gmail, Calendar, People). `null` for Google's own, of which
   * that of sign-in is `https://accounts.google.com`.
   */
  google: string | null;
  microsoft: { login: string; graph: string };
}

export function companyAddresses(env: {
  GOOGLE_URL?: string | undefined;
  MICROSOFT_LOGIN_URL: string;
  MICROSOFT_GRAPH_URL: string;
}): CompanyAddresses {
  return {
    google: env.GOOGLE_URL ?? null,
    microsoft: { login: env.MICROSOFT_LOGIN_URL, graph: env.MICROSOFT_GRAPH_URL },
  };
}
