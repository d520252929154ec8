extension ProcessorSyntax {
    static let overlay = ProcessorSyntax(name: "overlay", parameters: ["color", "fraction"]) {
        (arguments) throws(ImagingError) in
        let color = try arguments.color("color")
        return OverlayImageProcessor(
            overlay: color, fraction: try arguments.number("fraction", in: 0...1, default: 0.5))
    }

    static let tint = ProcessorSyntax(name: "tint", parameters: ["color"]) { (arguments) throws(ImagingError) in
        TintImageProcessor(tint: try arguments.color("color"))
    }

    static let color = ProcessorSyntax(name: "color", parameters: ["brightness", "contrast", "saturation", "ev"]) {
        (arguments) throws(ImagingError) in
        typealias Controls = ColorControlsProcessor
        let brightness = try arguments.number("brightness", in: Controls.brightnessRange, default: 0)
        let contrast = try arguments.number("contrast", in: Controls.factorRange, default: 1)
        let saturation = try arguments.number("saturation", in: Controls.factorRange, default: 1)
        let exposure = try arguments.number("ev", in: Controls.exposureRange, default: 0)
        return Controls(brightness: brightness, contrast: contrast, saturation: saturation, inputEV: exposure)
    }

    static let blackWhite = ProcessorSyntax(name: "black-white", parameters: []) { (_) throws(ImagingError) in
        BlackWhiteProcessor()
    }

    static let grayscale = ProcessorSyntax(name: "grayscale", parameters: []) { (_) throws(ImagingError) in
        GrayscaleImageProcessor()
    }
}
