import Glibc
import KFCore

/// usage: LibraryExample ADDRESS DIRECTORY    (run.sh starts a server and calls this)
@main
enum LibraryExample {
    static func main() async {
        let arguments = CommandLine.arguments
        do {
            guard arguments.count == 3 else { throw Failure(description: "usage: LibraryExample ADDRESS DIRECTORY") }
            try await run(address: arguments[1], directory: arguments[2])
        } catch let error as KingfisherError {
            print("failed: \(error.message) [\(error.errorCode)]")
            exit(1)
        } catch {
            print("failed: \(error)")
            exit(1)
        }
    }

    private static func run(address: String, directory: String) async throws {
        let server = Server(address: address, directory: directory)
        try await server.asynchronously()
        try await server.withCallbacks()
        try await server.cancelling()
        try await server.withPartsOfItsOwn()
        try await server.withFormatOfItsOwn()
        try await server.prefetching()
        try await server.lookingIntoTheCache()
        await server.manager.shutdown()

        // The cache survives the process: the next manager finds the image.
        let next = Server(address: address, directory: directory)
        let way = try await next.manager.retrieveImage(with: next.source("png/rgb.png"), options: [.onlyFromCache]).way
        try check(way == .disk, "the next server finds it on the \(way)")
        await next.manager.shutdown()

        // A manager with an empty directory finds what another one has uploaded to the store that they share.
        let store = SharedStore()
        for (name, expected) in [("writer", RetrievalWay.fetched), ("reader", .remote)] {
            let manager = store.manager(directory: "\(directory)-\(name)", writes: name == "writer")
            let way = try await manager.retrieveImage(with: server.source("png/grey.png")).way
            await manager.shutdown()
            let counts = manager.cache.remoteCounts
            try check(way == expected, "the \(name)'s image: \(way), \(counts?.uploaded ?? 0) uploaded")
        }
    }
}
