/**
 * What the user has to know and can do something about: its message is all that is printed of it.
 * @module
 */
export class Problem extends Error {}
