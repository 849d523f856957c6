package org.gorda.jgcs;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Which hosts a member's certificate is for: its subject's alternative names, as RFC 9525 has it; the common name says nothing. */
public final class MemberCertificate {

    private static final int DNS = 2;
    private static final int IP = 7;
    private static final Pattern ADDRESS =
            Pattern.compile("\\d{1,3}(\\.\\d{1,3}){3}|\\[?[0-9a-fA-F:.]*:[0-9a-fA-F:.]*(%.*)?\\]?");

    private MemberCertificate() {}

    /** The hosts that it names; none if they cannot be read. */
    public static List<String> names(X509Certificate certificate) {
        return Stream.concat(names(certificate, DNS), names(certificate, IP)).toList();
    }

    private static Stream<String> names(X509Certificate certificate, int kind) {
        try {
            Collection<List<?>> all = certificate.getSubjectAlternativeNames();
            return all == null
                    ? Stream.empty()
                    : all.stream().filter(name -> name.get(0).equals(kind)).map(name -> String.valueOf(name.get(1)));
        } catch (CertificateParsingException e) {
            return Stream.empty();
        }
    }

    /** Whether it is for a host, a name or an address, as it is written in a {@linkplain MemberId member's} address. */
    public static boolean isFor(X509Certificate certificate, String host) {
        return ADDRESS.matcher(host).matches()
                ? names(certificate, IP).anyMatch(name -> address(name).equals(address(host)))
                : names(certificate, DNS)
                        .anyMatch(name -> isNamed(host.toLowerCase(Locale.ROOT), name.toLowerCase(Locale.ROOT)));
    }

    /** A star is for one whole label, the first. */
    private static boolean isNamed(String host, String name) {
        int dot = host.indexOf('.');
        return name.equals(host)
                || (name.startsWith("*.") && dot > 0 && name.substring(1).equals(host.substring(dot)));
    }

    private static String address(String text) {
        try {
            return InetAddress.getByName(text).getHostAddress(); // of an address that is not looked up
        } catch (UnknownHostException e) {
            return text;
        }
    }
}
