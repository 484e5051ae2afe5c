/** An email address with the name beside it; the name may be empty. */
export interface Address {
  email: string;
  name: string;
}
