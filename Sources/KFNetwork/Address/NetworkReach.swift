/// How far away a host is, by its address.
public enum NetworkReach: Int, Sendable, Comparable {
    /// This machine.
    case machine
    /// A private network, or another address that is not on the public internet.
    case privateNetwork
    /// The public internet.
    case internet

    /// Creates the reach of a numeric address, or of the name `localhost`; nil for other names.
    package init?(host: String) {
        if host == "localhost" {
            self = .machine
            return
        }
        guard let address = IPAddress(host) else { return nil }
        self = address.isLoopback ? .machine : address.isPublic ? .internet : .privateNetwork
    }

    public static func < (a: NetworkReach, b: NetworkReach) -> Bool { a.rawValue < b.rawValue }
}
