package org.gorda.gapi;

/**
 * What a binding found in a database that is to be replicated. Immutable.
 *
 * @param obstacle whether it stands in the way: what needs it is refused. Otherwise it is good to know.
 * @param object what it is about, for people: a table, a procedure, the database
 * @param problem what about it
 * @param fix what to do, SQL where that does it
 */
public record Finding(boolean obstacle, String object, String problem, String fix) {}
