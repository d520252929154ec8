import KFCore

let cache = ImageCache(.init(directory: ImageCache.defaultDirectory()))
let manager = KingfisherManager(cache: cache)
let thumbnail = try ProcessorParser.parse("resize:320x320,fit")
let url = try RequestURL(CommandLine.arguments[1])
do {
    let result = try await manager.retrieveImage(with: .network(url), options: [.processor(thumbnail), .waitForCache])
    print(result.way, try await result.image().width, result.cachedPath ?? "not stored")
} catch {
    print("\(url.redacted): \(error.message) [\(error.errorCode)]")
}
await manager.shutdown()
