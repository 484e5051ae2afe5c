/** Paths of the integrations and grants address (beta manners: error envelope, page size 10). */
export function isIntegrationsPath(path: string): boolean {
  return /^\/connect\/(integrations|grants|auth)(\/|$)/.test(path);
}
