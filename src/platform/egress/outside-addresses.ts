/** Services elsewhere that the operator has named. */
export class OutsideAddresses {
  /** @param ispdbUrl base address of a database of mail servers in Thunderbird's format, without a slash at the end; null: none */
  constructor(readonly ispdbUrl: string | null) {}
}
