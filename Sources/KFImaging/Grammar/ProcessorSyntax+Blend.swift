extension ProcessorSyntax {
    static let blend = ProcessorSyntax(name: "blend", parameters: ["mode", "alpha", "background"]) {
        (arguments) throws(ImagingError) in
        let mode = try arguments.choice("mode", as: BlendMode.self)
        let alpha = try arguments.number("alpha", in: 0...1, default: 1)
        let background = try arguments.color("background", default: .transparent)
        return BlendImageProcessor(blendMode: mode, alpha: alpha, backgroundColor: background)
    }
}
