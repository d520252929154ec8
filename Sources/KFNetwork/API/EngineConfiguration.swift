/// What an engine may use. Transfers beyond these limits wait in the engine and cost no handle.
package struct EngineConfiguration: Sendable {
    /// Transfers at once, over all hosts.
    package var maxConnections = 64
    /// Transfers at once to one host and port.
    package var maxPerHost = 8
    /// Starts per second to one host and port; nil means as many as come.
    package var ratePerHost: Double?
    /// Threads that may be looking up names, those included that hang on a dead name server after their transfer has
    /// given up.
    package var maxResolverThreads = 96
    /// What a read may take from a socket at once. 64 KiB: past it loopback gets no faster, and from 128 KiB on malloc
    /// maps and unmaps the buffer for every transfer.
    package var receiveBufferSize = 64 << 10

    package init() {}
}
