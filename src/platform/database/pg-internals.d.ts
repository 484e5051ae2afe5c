/** How the driver turns a value into what it sends to the server. */
declare module 'pg/lib/utils.js' {
  const utils: {
    /** @throws {Error} if the value cannot be sent, for example an object that refers to itself */
    prepareValue(value: unknown): unknown;
  };
  export default utils;
}
