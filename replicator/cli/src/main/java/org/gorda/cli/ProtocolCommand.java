package org.gorda.cli;

import java.util.concurrent.Callable;
import org.gorda.replicator.node.NodeStatus;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(
        name = "protocol",
        mixinStandardHelpOptions = true,
        description = {
            "Has a group run another protocol, while it works.",
            "Transactions that are under way are refused with 40001. The replicas keep to it when they are started again."
        })
final class ProtocolCommand implements Callable<Integer> {

    @Mixin
    private Output output = new Output();

    @Parameters(paramLabel = "PROTOCOL", description = "primary-backup, certification or asynchronous.")
    private String protocol = "";

    @Mixin
    private AnyReplica replica = new AnyReplica();

    @Override
    public Integer call() {
        NodeStatus now = replica.client().changeProtocol(replica.service(), protocol);
        output.line("protocol  " + now.protocol() + ", since " + now.epoch());
        output.line(now.primary() == null ? "writes    at every replica" : "primary   " + now.primary());
        output.result(now);
        return 0;
    }
}
