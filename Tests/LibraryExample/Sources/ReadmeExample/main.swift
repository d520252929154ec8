import KFCore

let manager = KingfisherManager.shared
if let text = CommandLine.arguments.dropFirst().first {
    let thumbnail = ResizingImageProcessor(width: 320, height: 320, mode: .fit)
    do {
        let url = try RequestURL(text)
        let result = try await manager.retrieveImage(with: url, options: [.processor(thumbnail), .waitForCache])
        print(result.way, try await result.image().width, result.cachedPath ?? "not stored")
    } catch {
        print("\(RequestURL.redacted(text)): \(error.message) [\(error.errorCode)]")
    }
} else {
    print("usage: thumbnail URL")
}
await manager.shutdown()
