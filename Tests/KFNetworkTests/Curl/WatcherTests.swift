import CCurl
import Glibc
import Testing

@testable import KFNetwork

@Suite("Watched sockets")
struct WatcherTests {
    /// Two ends of a connection; the first has something to read.
    private func pair() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        try #require(write(ends[1], "x", 1) == 1)
        return (ends[0], ends[1])
    }

    private func ready(_ watcher: Watcher) -> [Int32] {
        watcher.wait(milliseconds: 0)
        return watcher.events.map(\.socket)
    }

    @Test("A socket can be watched again", arguments: [true, false])
    func again(_ isKnown: Bool) throws {
        let watcher = try #require(Watcher())
        let (read, write) = try pair()
        defer { _ = (close(read), close(write)) }
        if isKnown { watcher.opened(read) }
        #expect(watcher.watch(read, for: CURL_POLL_IN))
        #expect(ready(watcher) == [read])
        #expect(watcher.watch(read, for: CURL_POLL_REMOVE))
        #expect(watcher.watch(read, for: CURL_POLL_IN))
        #expect(ready(watcher) == [read])
        #expect(watcher.watch(read, for: CURL_POLL_REMOVE))
        #expect(ready(watcher) == [])
        #expect(watcher.watch(read, for: CURL_POLL_INOUT))
        #expect(ready(watcher) == [read])
        #expect(watcher.watch(read, for: CURL_POLL_REMOVE))
        #expect(watcher.watch(read, for: CURL_POLL_OUT))
        watcher.wait(milliseconds: 0)
        #expect(watcher.events.map(\.ready) == [CURL_CSELECT_OUT])
    }

    /// The kernel goes on for as long as another process has a closed socket, as one that was just forked has.
    @Test("A closed socket that a child has is not watched")
    func held() throws {
        let watcher = try #require(Watcher())
        let (read, write) = try pair()
        let held = dup(read)
        defer { _ = (close(held), close(write)) }
        watcher.opened(read)
        #expect(watcher.watch(read, for: CURL_POLL_IN))
        #expect(ready(watcher) == [read])
        watcher.closed(read)
        close(read)
        #expect(ready(watcher) == [])
    }

    @Test("A reused socket number is watched anew", arguments: [true, false])
    func reused(_ isKnown: Bool) throws {
        let watcher = try #require(Watcher())
        let (read, write) = try pair()
        watcher.opened(read)
        // libcurl reports neither the opening nor the closing of its own pipes.
        if !isKnown { watcher.closed(read) }
        #expect(watcher.watch(read, for: CURL_POLL_IN))
        #expect(watcher.watch(read, for: CURL_POLL_REMOVE))
        if isKnown { watcher.closed(read) }
        let (other, otherWrite) = try pair()
        defer { _ = (close(read), close(write), close(otherWrite)) }
        // The number of the first, another socket.
        #expect(dup2(other, read) == read)
        close(other)
        if isKnown { watcher.opened(read) }
        #expect(watcher.watch(read, for: CURL_POLL_IN))
        #expect(ready(watcher) == [read])
    }
}
