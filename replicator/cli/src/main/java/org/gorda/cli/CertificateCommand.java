package org.gorda.cli;

import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.gorda.replicator.engine.Authority;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
        name = "certificate",
        mixinStandardHelpOptions = true,
        description = {
            "Issues a certificate by an authority of the group's own, which is made at the first time.",
            "Who has the authority's key can make members: keep the directory in one safe place, and give each machine the"
                    + " authority's certificate, its own and its own key, and nothing else. Certificates of any other authority"
                    + " do as well, if those of replicas are for servers and clients and name their hosts."
        })
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class CertificateCommand implements Callable<Integer> {

    @Mixin
    private Output output = new Output();

    @Parameters(
            index = "0",
            paramLabel = "NAME",
            description = "Of the files: DIRECTORY/NAME.pem and NAME-key.pem, which are replaced if they are there.")
    private String name = "";

    @Parameters(
            index = "1..*",
            arity = "0..*",
            paramLabel = "HOST",
            description =
                    "The host of a replica, as it stands in its addresses; more if it has more. None for people and"
                            + " applications, who may ask and operate but are no members.")
    private List<String> hosts = List.of();

    @Option(
            names = "--directory",
            paramLabel = "DIRECTORY",
            defaultValue = "certificates",
            description = "That of the authority.")
    private Path directory = Path.of("certificates");

    @Option(names = "--days", defaultValue = "825", description = "How long it is valid.")
    private int days;

    /** What the command ends with. */
    private record Issued(String authority, String certificate, String key) {}

    @Override
    public Integer call() {
        Authority authority = Authority.in(directory);
        authority.issue(name, hosts, days);
        Issued issued = new Issued(
                authority.certificate().toString(),
                authority.certificate(name).toString(),
                authority.key(name).toString());
        output.line("tls-authority: " + issued.authority());
        output.line("tls-certificate: " + issued.certificate());
        output.line("tls-key: " + issued.key());
        output.result(issued);
        return 0;
    }
}
